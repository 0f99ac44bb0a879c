//! Writes the fields of a form as JSON, for filters: texts as they are, and files by their size only.

use super::{FormPart, MultipartForm};
use crate::fault::{Fault, FaultKind};
use crate::json::quoted;
use bytes::Bytes;

/// Fields that are booleans in the JSON of all endpoints.
const FLAGS: [&str; 1] = ["stream"];
/// Fields that are numbers in the JSON of all endpoints.
const COUNTS: [&str; 1] = ["n"];
/// The maximum size of a text field in bytes: some have a file as a data URL.
const TEXT_BYTES_MAX: usize = 20 << 20;

/// Writes the fields of a form as a JSON object. A field whose name ends with `[]` is a list of this name, and a file is an object
/// with its number of `bytes`.
///
/// # Errors
/// Two parsers could read the fields differently: one is repeated, has members of its own, or is not UTF-8.
pub fn describe_fields(form: &MultipartForm) -> Result<Bytes, Fault> {
    let mut fields: Vec<(&str, Vec<&FormPart>)> = Vec::new();
    for part in form.parts() {
        let base = part.name.strip_suffix("[]").unwrap_or(&part.name);
        match fields.iter_mut().find(|(known, _)| *known == base) {
            None => fields.push((base, vec![part])),
            Some((_, parts)) if base != part.name && parts[0].name == part.name => parts.push(part),
            Some(_) => {
                let message = format!("duplicate form field `{}`; send it once", part.name);
                return Err(invalid(part, message));
            }
        }
    }
    if let Some(part) = form.parts().iter().find(|part| is_member(part, &fields)) {
        let message = format!("form field `{}` is ambiguous; remove it", part.name);
        return Err(invalid(part, message));
    }
    let mut out = vec![b'{'];
    for (name, parts) in &fields {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&quoted(name));
        out.push(b':');
        match parts.as_slice() {
            [part] if part.name == *name => value(&mut out, form, part)?,
            parts => list(&mut out, form, parts)?,
        }
    }
    out.push(b'}');
    Ok(out.into())
}

/// Whether some parsers read a name such as `model[0]` or `model.x` as the field `model`, which the form has as well.
fn is_member(part: &FormPart, fields: &[(&str, Vec<&FormPart>)]) -> bool {
    let name = part.name.strip_suffix("[]").unwrap_or(&part.name);
    let base = name.split_once(['[', '.']).map(|(base, _)| base);
    base.is_some_and(|base| fields.iter().any(|(known, _)| *known == base))
}

fn list(out: &mut Vec<u8>, form: &MultipartForm, parts: &[&FormPart]) -> Result<(), Fault> {
    out.push(b'[');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        value(out, form, part)?;
    }
    out.push(b']');
    Ok(())
}

fn value(out: &mut Vec<u8>, form: &MultipartForm, part: &FormPart) -> Result<(), Fault> {
    if part.is_file() {
        out.extend_from_slice(format!("{{\"bytes\":{}}}", part.value.len()).as_bytes());
        return Ok(());
    }
    let unfit = |what: &str| invalid(part, format!("form field `{}` {what}", part.name));
    let value = &form.body()[part.value.clone()];
    if value.len() > TEXT_BYTES_MAX {
        return Err(unfit(
            "is too long for a text field; add a file name to the part if it is a file",
        ));
    }
    let text = std::str::from_utf8(value)
        .map_err(|_| unfit("is not UTF-8 text; add a file name to the part if it is a file"))?;
    let name = part.name.as_str();
    match FLAGS.contains(&name) && matches!(text, "true" | "false")
        || COUNTS.contains(&name) && is_count(text)
    {
        true => out.extend_from_slice(value),
        false => out.extend_from_slice(&quoted(text)),
    }
    Ok(())
}

/// Whether a text is a whole number without a sign in JSON's syntax.
fn is_count(text: &str) -> bool {
    let is_plain = text == "0" || !text.starts_with('0');
    (1..20).contains(&text.len()) && is_plain && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn invalid(part: &FormPart, message: String) -> Fault {
    Fault::new(FaultKind::Invalid, message).param(&*part.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Describes a form of these parts; a name with `!` is a file.
    fn described(parts: &[(&str, &str)]) -> Result<Value, Fault> {
        let mut body = String::new();
        for (name, value) in parts {
            let (name, file) = match name.strip_suffix('!') {
                Some(name) => (name, "; filename=\"a.wav\""),
                None => (*name, ""),
            };
            body += &format!(
                "--b\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
            );
        }
        let form = MultipartForm::parse((body + "--b--\r\n").into(), "b").unwrap();
        describe_fields(&form).map(|json| serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn texts_stay_texts_and_a_file_is_its_size() {
        let parts = [
            ("file!", "RIFF"),
            ("model", "a \"b\"\r\n"),
            ("stream", "true"),
            ("n", "2"),
            ("temperature", "0"),
            ("include[]", "logprobs"),
            ("granularities[]", "word"),
            ("granularities[]", "segment"),
            ("chunking[type]", "vad"),
            ("chunking[size]", "5"),
        ];
        let expected = json!({
            "file": {"bytes": 4}, "model": "a \"b\"\r\n", "stream": true, "n": 2, "temperature": "0",
            "include": ["logprobs"], "granularities": ["word", "segment"], "chunking[type]": "vad",
            "chunking[size]": "5",
        });
        assert_eq!(described(&parts).unwrap(), expected);
        assert_eq!(described(&[]).unwrap(), json!({}));
        let words = [("stream", "True"), ("n", "two")];
        assert_eq!(
            described(&words).unwrap(),
            json!({"stream": "True", "n": "two"})
        );
    }

    #[test]
    fn a_field_that_two_parsers_read_differently_is_refused_by_name() {
        for (parts, param) in [
            ([("model", "a"), ("model", "b")], "model"),
            ([("model", "a"), ("model[]", "b")], "model[]"),
            ([("model[]", "a"), ("model", "b")], "model"),
            ([("model", "a"), ("model[0]", "b")], "model[0]"),
            ([("model.x", "a"), ("model", "b")], "model.x"),
            ([("file!", "a"), ("file!", "b")], "file"),
            ([("file!", "a"), ("file[name]", "b")], "file[name]"),
        ] {
            let fault = described(&parts).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Invalid, "{parts:?}");
            assert_eq!(fault.param.as_deref(), Some(param), "{parts:?}");
        }
    }
}
