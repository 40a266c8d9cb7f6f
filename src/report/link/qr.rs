//! A link as a QR code, drawn as SVG.

use qrcodegen::{QrCode, QrCodeEcc};

/// The width of the white frame in modules: scanners look for it.
const FRAME: i32 = 4;

/// The QR code of an address: black on white, whatever is around it. `None` if no code holds it, which is so from 2,954
/// bytes on.
pub fn svg(address: &str) -> Option<String> {
    let code = QrCode::encode_binary(address.as_bytes(), QrCodeEcc::Low).ok()?;
    let width = code.size() + 2 * FRAME;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {width}\" shape-rendering=\"crispEdges\"><path \
         fill=\"#fff\" d=\"M0 0h{width}v{width}H0z\"/><path stroke=\"#000\" d=\""
    );
    for y in 0..code.size() {
        // A line along the middle of the row for each run of dark modules.
        let mut begin = None;
        for x in 0..=code.size() {
            match (begin, code.get_module(x, y)) {
                (None, true) => begin = Some(x),
                (Some(from), false) => {
                    svg.push_str(&format!("M{} {}.5h{}", from + FRAME, y + FRAME, x - from));
                    begin = None;
                }
                _ => {}
            }
        }
    }
    svg.push_str("\"/></svg>\n");
    Some(svg)
}
