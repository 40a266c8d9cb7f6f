//! A static server on loopback: what any host of the page does, and a record of what was asked.
//!
//! It serves one folder under a path prefix, as a host does that keeps the page in a folder of its own, and sends
//! the headers of the folder's `_headers` file (the format of Netlify and Cloudflare Pages, with `*` at the end of a
//! path only).

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Component, Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
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
    requests: Mutex<Vec<String>>,
    is_down: AtomicBool,
}

impl Server {
    /// Serves `folder` under `prefix` (`/` or `/some/folder/`) on a port of loopback; 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken, or a thread can't be started.
    pub fn start(folder: &Path, prefix: &str, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let site = Arc::new(Site {
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            requests: Mutex::default(),
            is_down: AtomicBool::new(false),
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
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page's address.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.site.prefix)
    }

    /// Takes the network away: every connection is dropped, until it is given back with `false`.
    pub fn take_down(&self, is_down: bool) {
        self.site.is_down.store(is_down, Ordering::SeqCst);
    }

    /// The targets (path and query) of all requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<String> {
        self.site.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Site {
    /// Answers one request. Errors of the connection are the browser's business.
    fn answer(&self, mut connection: &TcpStream) -> io::Result<()> {
        if self.is_down.load(Ordering::SeqCst) {
            return Ok(());
        }
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
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n",
            body.len()
        );
        for header in self.headers(target) {
            head.push_str(&header);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        connection.write_all(head.as_bytes())?;
        if method == "GET" {
            connection.write_all(&body)?;
        }
        connection.flush()
    }

    /// The header lines that `_headers` gives a target. It may change while the site is served.
    fn headers(&self, target: &str) -> Vec<String> {
        let blocks = fs::read_to_string(self.folder.join("_headers")).unwrap_or_default();
        self.path(target).map(|path| headers_for(&blocks, path)).unwrap_or_default()
    }

    /// A target's path from the folder.
    fn path<'a>(&self, target: &'a str) -> Option<&'a str> {
        target.split(['?', '#']).next()?.strip_prefix(&self.prefix)
    }

    /// The file that a target names; none outside the folder.
    fn file(&self, target: &str) -> Option<PathBuf> {
        let path = Path::new(self.path(target)?);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        let file = self.folder.join(path);
        let file = if file.is_dir() { file.join("index.html") } else { file };
        file.is_file().then_some(file)
    }
}

/// The header lines of all blocks of a `_headers` file whose path is this one, or begins it and ends with `*`.
fn headers_for(blocks: &str, path: &str) -> Vec<String> {
    let mut applies = false;
    let mut headers = Vec::new();
    for line in blocks.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with(char::is_whitespace) {
            headers.extend(applies.then(|| line.trim().to_owned()));
        } else {
            let block = line.trim().trim_start_matches('/');
            applies = block.strip_suffix('*').map_or(block == path, |start| path.starts_with(start));
        }
    }
    headers
}

fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
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
        fs::write(folder.join("site/_headers"), "/*\n  X-One: 1\n  X-Two: 2\n/code.wasm\n  X-Three: 3\n").unwrap();
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
        let code = get(&server, "/tools/page/code.wasm");
        assert!(code.contains("Content-Type: application/wasm\r\n"), "{code}");
        assert!(code.contains("\r\nX-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n\r\n"), "{code}");
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
