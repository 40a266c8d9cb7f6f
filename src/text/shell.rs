//! Words of a POSIX shell.

/// A word for a POSIX shell: as it stands where every character is harmless, else in single quotes.
pub fn quoted(word: &str) -> String {
    let harmless =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '=' | '+' | '%' | '@' | ',');
    if !word.is_empty() && word.chars().all(harmless) {
        return word.to_owned();
    }
    // A NUL can't stand in a word, and a line break in a comment would end it.
    let plain: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("'{}'", plain.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them() {
        for (word, written) in [
            ("/opt/rccl/tuner.so", "/opt/rccl/tuner.so"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("it's", r"'it'\''s'"),
            ("a\nrm", "'a rm'"),
            ("~", "'~'"),
            ("-b 4 -e 8", "'-b 4 -e 8'"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }
}
