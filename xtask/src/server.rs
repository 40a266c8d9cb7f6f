//! A static server on loopback: what any host of the page does, and a record of what was asked.
//!
//! It serves one folder under a path prefix, as a host does that keeps the page in a folder of its own, and sends
//! the headers of the folder's `_headers` file (the format of Netlify and Cloudflare Pages; only the `/*` block).

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// A running server. It runs until the program ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    site: Arc<Site>,
}

#[derive(Debug)]
struct Site {
    folder: PathBuf,
    prefix: String,
    headers: Vec<String>,
    requests: Mutex<Vec<String>>,
}

impl Server {
    /// Serves `folder` under `prefix` (`/` or `/some/folder/`) on a port of loopback; 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken, or a thread can't be started.
    pub fn start(folder: &Path, prefix: &str, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let headers = headers_for_all(&fs::read_to_string(folder.join("_headers")).unwrap_or_default());
        let site = Arc::new(Site {
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            headers,
            requests: Mutex::default(),
        });
        let served = Arc::clone(&site);
        thread::Builder::new().name("server".to_owned()).spawn(move || {
            for connection in listener.incoming().flatten() {
                let site = Arc::clone(&served);
                // A connection that can't have its thread is dropped; the browser asks again.
                let _ = thread::Builder::new().spawn(move || site.answer(&connection));
            }
        })?;
        Ok(Self { address, site })
    }

    /// Its host and port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page's address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.site.prefix)
    }

    /// The targets (path and query) of all requests so far, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.site.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Site {
    /// Answers one request. Errors of the connection are the browser's business.
    fn answer(&self, mut connection: &TcpStream) -> io::Result<()> {
        connection.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut lines = BufReader::new(connection).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        for line in lines {
            if line?.is_empty() {
                break;
            }
        }
        let mut words = request.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if target.is_empty() {
            return Ok(());
        }
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(target.to_owned());

        let file = matches!(method, "GET" | "HEAD").then(|| self.file(target)).flatten();
        let (status, media_type, body) = match file {
            Some(path) => ("200 OK", media_type(&path), fs::read(path)?),
            None => ("404 Not Found", "text/plain; charset=utf-8", b"There is nothing here.\n".to_vec()),
        };
        let mut head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\nConnection: close\r\n",
            body.len()
        );
        for header in &self.headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        connection.write_all(head.as_bytes())?;
        if method == "GET" {
            connection.write_all(&body)?;
        }
        connection.flush()
    }

    /// The file that a target names; none outside the folder.
    fn file(&self, target: &str) -> Option<PathBuf> {
        let path = target.split(['?', '#']).next()?.strip_prefix(&self.prefix)?;
        let path = Path::new(path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let file = self.folder.join(path);
        let file = if file.is_dir() { file.join("index.html") } else { file };
        file.is_file().then_some(file)
    }
}

/// The header lines of the `/*` block of a `_headers` file.
fn headers_for_all(text: &str) -> Vec<String> {
    text.lines()
        .skip_while(|line| line.trim() != "/*")
        .skip(1)
        .take_while(|line| line.starts_with(char::is_whitespace))
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "gz" => "application/gzip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn site(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("collectune-server-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("site")).unwrap();
        fs::write(folder.join("secret.txt"), "secret").unwrap();
        fs::write(folder.join("site/index.html"), "<p>page").unwrap();
        fs::write(folder.join("site/code.wasm"), "\0asm").unwrap();
        fs::write(folder.join("site/_headers"), "/*\n  X-One: 1\n  X-Two: 2\n/other\n  X-Three: 3\n").unwrap();
        folder.join("site")
    }

    fn get(server: &Server, target: &str) -> String {
        let mut connection = TcpStream::connect(server.address).unwrap();
        write!(connection, "GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn serves_a_folder_under_a_prefix_and_keeps_a_record() {
        let server = Server::start(&site("serves"), "/tools/page/", 0).unwrap();
        let page = get(&server, "/tools/page/?q=1");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"), "{page}");
        assert!(page.contains("\r\nX-One: 1\r\nX-Two: 2\r\n\r\n<p>page"), "{page}");
        assert!(get(&server, "/tools/page/code.wasm").contains("Content-Type: application/wasm\r\n"));
        assert!(get(&server, "/").starts_with("HTTP/1.1 404 "));
        assert_eq!(server.requests(), ["/tools/page/?q=1", "/tools/page/code.wasm", "/"]);
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let server = Server::start(&site("outside"), "/", 0).unwrap();
        for target in ["/../secret.txt", "//etc/passwd", "/x/../../secret.txt", "", "nonsense"] {
            let answer = get(&server, target);
            assert!(!answer.contains("secret") && !answer.contains("200 OK"), "{target}: {answer}");
        }
    }
}
