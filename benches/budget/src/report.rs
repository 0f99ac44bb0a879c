//! The sections of a Markdown file that measurements replace.

use std::fs;
use std::path::Path;

/// Prints a section, and writes it into `file` between `<!-- NAME -->` and `<!-- end of NAME -->`.
pub fn publish(file: Option<&Path>, name: &str, section: &str) {
    println!("\n{section}");
    let Some(file) = file else { return };
    let text = fs::read_to_string(file).expect("the report can be read");
    let text = replaced(&text, name, section);
    let text = text.unwrap_or_else(|| panic!("{} has no section {name}", file.display()));
    fs::write(file, text).expect("the report can be written");
}

fn replaced(text: &str, name: &str, section: &str) -> Option<String> {
    let begin = format!("<!-- {name} -->\n");
    let end = format!("<!-- end of {name} -->");
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{section}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_section_is_replaced_and_the_text_around_it_stays() {
        let text = "# A\n<!-- cpu -->\nold\n<!-- end of cpu -->\nlast\n";
        let new = replaced(text, "cpu", "| new |\n").unwrap();
        assert_eq!(
            new,
            "# A\n<!-- cpu -->\n\n| new |\n\n<!-- end of cpu -->\nlast\n"
        );
        assert_eq!(replaced(&new, "cpu", "| new |\n").unwrap(), new);
        assert_eq!(replaced(text, "memory", ""), None);
    }
}
