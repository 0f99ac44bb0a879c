//! Applies the rules to the texts of a request.

use crate::prompt;
use crate::role::Role;
use json_text::{Edit, NotJson, apply, decode, encode};
use regex::Regex;
use std::borrow::Cow;

#[derive(Debug, Default)]
pub struct Policy {
    pub rules: Vec<Rule>,
}

#[derive(Debug)]
pub struct Rule {
    pub name: String,
    pub pattern: Regex,
    pub roles: Vec<Role>,
    pub action: RuleAction,
}

#[derive(Debug)]
pub enum RuleAction {
    Deny { message: String, code: String },
    Rewrite { replacement: String },
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'p> {
    Unchanged,
    Denial {
        rule: &'p str,
        message: &'p str,
        code: &'p str,
    },
    /// The names of the rules that matched, and the body after them.
    Rewrite {
        rules: Vec<&'p str>,
        body: String,
    },
}

impl Policy {
    /// Applies the rules to each text in their order; a rule reads what the rules before it wrote.
    pub fn apply(&self, body: &str) -> Result<Verdict<'_>, NotJson> {
        let mut edits = Vec::new();
        let mut matched: Vec<&str> = Vec::new();
        for part in prompt::read(body)? {
            let source = decode(&body[part.range.clone()]);
            let mut text = Cow::Borrowed(&*source.text);
            for rule in self
                .rules
                .iter()
                .filter(|rule| rule.roles.contains(&part.role))
            {
                if !rule.pattern.is_match(&text) {
                    continue;
                }
                match &rule.action {
                    RuleAction::Deny { message, code } => {
                        let rule = &rule.name;
                        return Ok(Verdict::Denial {
                            rule,
                            message,
                            code,
                        });
                    }
                    RuleAction::Rewrite { replacement } => {
                        let rewritten = rule.pattern.replace_all(&text, replacement.as_str());
                        text = Cow::Owned(rewritten.into_owned());
                        if !matched.contains(&rule.name.as_str()) {
                            matched.push(&rule.name);
                        }
                    }
                }
            }
            if text != source.text {
                let mut string = String::with_capacity(text.len());
                encode(&text, &mut string);
                edits.push(Edit {
                    range: part.range,
                    text: string,
                });
            }
        }
        if edits.is_empty() {
            return Ok(Verdict::Unchanged);
        }
        Ok(Verdict::Rewrite {
            rules: matched,
            body: apply(body, &edits),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, Verdict};

    const RULES: &str = r#"{"rules":[
        {"name":"names","match":"(?i)\\bproject (\\w+)\\b","in":["user","tool"],"action":"rewrite","replacement":"<$1>"},
        {"name":"keys","match":"sk-[a-z0-9]{8}","action":"deny","message":"No keys.","code":"key_in_prompt"},
        {"name":"after","match":"<secret>","in":["user"],"action":"deny"}
    ]}"#;

    #[test]
    fn a_rule_applies_to_the_text_of_its_roles() {
        let policy = Policy::new(RULES.as_bytes()).unwrap();
        let denial = |rule, message, code| Verdict::Denial {
            rule,
            message,
            code,
        };
        let denied = "The request is denied by policy.";
        for (content, role, verdict) in [
            ("hello", "user", Verdict::Unchanged),
            ("project X", "assistant", Verdict::Unchanged),
            (
                "sk-abcd1234",
                "assistant",
                denial("keys", "No keys.", "key_in_prompt"),
            ),
            ("project secret", "user", denial("after", denied, "denied")),
            ("<secret>", "tool", Verdict::Unchanged),
        ] {
            let body = format!(r#"{{"messages":[{{"role":"{role}","content":"{content}"}}]}}"#);
            assert_eq!(policy.apply(&body).unwrap(), verdict, "{body}");
        }
    }

    #[test]
    fn only_rewritten_strings_are_edited() {
        let policy = Policy::new(RULES.as_bytes()).unwrap();
        let body = r#"{ "messages": [ {"role":"user", "content":"\u0041 b"}, {"role":"user","content":"\"Project X\", project Y\n"}], "n":1.0 }"#;
        let edited = r#"{ "messages": [ {"role":"user", "content":"\u0041 b"}, {"role":"user","content":"\"<X>\", <Y>\n"}], "n":1.0 }"#;
        let rules = vec!["names"];
        assert_eq!(
            policy.apply(body).unwrap(),
            Verdict::Rewrite {
                rules,
                body: edited.to_owned()
            }
        );
    }

    #[test]
    fn a_denial_comes_before_the_rewrites_of_other_texts() {
        let policy = Policy::new(RULES.as_bytes()).unwrap();
        let body = r#"{"messages":[{"role":"user","content":"project X"},{"role":"user","content":"sk-abcd1234"}]}"#;
        assert!(matches!(
            policy.apply(body).unwrap(),
            Verdict::Denial { rule: "keys", .. }
        ));
    }
}
