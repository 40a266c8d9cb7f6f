//! What commands write as JSON.

/// An object of JSON: its keys in the order in which they are written here, each with its value.
macro_rules! object {
    ($($(#[$attribute:meta])* $key:ident: $value:expr),* $(,)?) => {{
        #[allow(non_camel_case_types, reason = "each key is also the name of its value's type")]
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($key),*> {
                $($(#[$attribute])* $key: $key),*
            }
            Object { $($key: $value),* }
        };
        object
    }};
}

pub(super) use object;

#[cfg(test)]
mod tests {
    #[test]
    fn keys_keep_their_order() {
        let inner = object! { z: 1, a: None::<u32> };
        let outer = object! {
            /// Comes first.
            name: "x",
            #[serde(flatten)]
            inner: inner,
        };
        assert_eq!(crate::text::json::compact(&outer), r#"{"name":"x","z":1,"a":null}"#);
    }
}
