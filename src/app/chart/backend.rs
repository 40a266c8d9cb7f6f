//! plotters' canvas backend, which passes the fill colour to the browser as a string with every rectangle: here only
//! where it changes. Thousands of dots of one series have the same, and the strings took as long as the filling.

use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};
use plotters_canvas::CanvasBackend;
use web_sys::CanvasRenderingContext2d;

type Drawn = Result<(), DrawingErrorKind<<CanvasBackend as DrawingBackend>::ErrorType>>;

/// Draws on a canvas; `context` must be that of the backend's canvas.
pub(super) struct FillingBackend {
    backend: CanvasBackend,
    context: CanvasRenderingContext2d,
    /// The colour that the canvas fills with: red, green, blue and the bits of alpha; `None` where it is not known.
    fill: Option<((u8, u8, u8), u64)>,
}

impl FillingBackend {
    pub fn new(backend: CanvasBackend, context: CanvasRenderingContext2d) -> Self {
        Self { backend, context, fill: None }
    }

    /// The backend for everything that may change the fill colour.
    fn other(&mut self) -> &mut CanvasBackend {
        self.fill = None;
        &mut self.backend
    }
}

impl DrawingBackend for FillingBackend {
    type ErrorType = <CanvasBackend as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.backend.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn {
        self.backend.ensure_prepared()
    }

    fn present(&mut self) -> Drawn {
        self.backend.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Drawn {
        self.other().draw_pixel(point, colour)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.other().draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let BackendColor { alpha, rgb } = style.color();
        let colour = Some((rgb, alpha.to_bits()));
        if !fill || colour != self.fill || alpha == 0.0 {
            self.other().draw_rect(upper_left, bottom_right, style, fill)?;
            self.fill = colour.filter(|_| fill && alpha != 0.0);
            return Ok(());
        }
        let [left, top, right, bottom] = [upper_left.0, upper_left.1, bottom_right.0, bottom_right.1].map(f64::from);
        self.context.fill_rect(left, top, right - left, bottom - top);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        self.other().draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(&mut self, centre: BackendCoord, radius: u32, style: &S, fill: bool) -> Drawn {
        self.other().draw_circle(centre, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, corners: I, style: &S) -> Drawn {
        self.other().fill_polygon(corners, style)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, place: BackendCoord) -> Drawn {
        self.other().draw_text(text, style, place)
    }
}
