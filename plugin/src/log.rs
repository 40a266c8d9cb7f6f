//! The plugin's messages through the library's logger: limited in number, and without allocation.

use std::fmt::{self, Write};

use crate::library::{Level, Logger};

/// The most messages per communicator.
const MOST: u8 = 20;
/// How many of these are reserved for failures.
const FOR_FAILURES: u8 = 3;
/// The longest message in bytes, with its final NUL.
const LONGEST: usize = 512;

/// The messages of one communicator.
pub struct Log {
    logger: Logger,
    said: u8,
}

impl Log {
    pub fn new(logger: Logger) -> Self {
        Self { logger, said: 0 }
    }

    /// Logs at level INFO which files were loaded.
    pub fn info(&mut self, message: fmt::Arguments<'_>) {
        self.say(Level::Info, message);
    }

    /// Logs at level WARN what does not work as configured.
    pub fn warn(&mut self, message: fmt::Arguments<'_>) {
        self.say(Level::Warn, message);
    }

    /// Logs a failure at level WARN, also where the limit of other messages is reached.
    pub fn failure(&mut self, message: fmt::Arguments<'_>) {
        if self.said < MOST {
            self.said += 1;
            self.write(Level::Warn, message);
        }
    }

    fn say(&mut self, level: Level, message: fmt::Arguments<'_>) {
        if self.said >= MOST - FOR_FAILURES {
            return;
        }
        self.said += 1;
        if self.said == MOST - FOR_FAILURES {
            self.write(level, format_args!("{message} (further messages are left out)"));
        } else {
            self.write(level, message);
        }
    }

    fn write(&self, level: Level, message: fmt::Arguments<'_>) {
        let mut text = Text { bytes: [0; LONGEST], length: 0 };
        // A message that is too long is cut at the end of the buffer.
        let _ = write!(text, "collectune: {message}");
        if let Ok(text) = std::ffi::CStr::from_bytes_until_nul(&text.bytes) {
            self.logger.say(level, text);
        }
    }
}

/// The buffer of one message.
struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            // Control characters of a file must not reach a terminal, and a NUL would end the message.
            let c = if c.is_control() { ' ' } else { c };
            // The last byte stays NUL.
            if self.length + c.len_utf8() >= LONGEST {
                return Err(fmt::Error);
            }
            c.encode_utf8(&mut self.bytes[self.length..]);
            self.length += c.len_utf8();
        }
        Ok(())
    }
}
