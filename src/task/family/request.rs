//! A generic create in a family's own words.

use super::given::Given;
use super::place::{Body, Target};
use super::{Choices, Family, Rule};
use crate::task::generic::{GenericRequest, Media, Refused};
use bytes::Bytes;

/// What becomes of fields that a family cannot do, and of those that the generic protocol does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    Refuse,
    /// They are left out, and named.
    Ignore,
}

/// A family's request.
#[derive(Debug)]
pub struct Mapped {
    pub body: Bytes,
    /// What was left out, in the order of the request.
    pub ignored: Vec<Ignored>,
    /// JSON pointers into `body`, each with the generic field that went there.
    places: Vec<(String, String)>,
}

/// A field that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// As `medias[2]`.
    pub param: String,
    /// One sentence: why. Lower case, no full stop.
    pub message: String,
}

/// Unknown members are named up to this many, so that no caller makes a header of any length.
const UNKNOWN_NAMED: usize = 8;

impl Family {
    /// A generic create as this family wants it, for the channel's model.
    ///
    /// # Errors
    /// A field that the generic protocol does not have, or the first one that the family cannot do, named with
    /// the platform model.
    pub fn request(
        &self,
        request: &GenericRequest<'_>,
        channel_model: &str,
        unsupported: Unsupported,
    ) -> Result<Mapped, Refused> {
        if let (Unsupported::Refuse, Some(unknown)) = (unsupported, request.unknown.first()) {
            return Err(Refused::new(unknown.param(), unknown.message()));
        }
        let rules = &self.request;
        let nothing = Given::text("");
        let mut writing = Writing {
            model: &request.model,
            unsupported,
            body: rules.base.fill(&nothing),
            ignored: Vec::new(),
            places: Vec::new(),
        };
        let model = Given::text(channel_model);
        writing.field("model", &model, &rules.model)?;
        let (prompts, others) = request
            .fields
            .iter()
            .partition::<Vec<_>, _>(|(field, _)| field.is_prompt());
        for (field, given) in prompts {
            writing.field(field.name(), given, &rules.fields[*field as usize])?;
        }
        for (at, Media { kind, url }) in request.medias.iter().enumerate() {
            let param = format!("medias[{at}]");
            writing.field(&param, url, &rules.medias[*kind as usize])?;
        }
        for (field, given) in others {
            writing.field(field.name(), given, &rules.fields[*field as usize])?;
        }
        let named = request
            .unknown
            .iter()
            .filter(|field| field.has_plain_name());
        for field in named.take(UNKNOWN_NAMED) {
            writing.ignore(&field.param(), &field.message());
        }
        Ok(writing.finish())
    }
}

impl Mapped {
    /// Whether a generic field went to a place in the body, or below it.
    pub fn has(&self, pointer: &str) -> bool {
        let mut places = self.places.iter();
        places.any(|(place, _)| {
            let rest = place.strip_prefix(pointer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The generic field that went to a place in the body, for what is found wrong with it there.
    pub fn param_of(&self, pointer: &str) -> Option<&str> {
        let within = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut outer = self.places.iter();
        if let Some((_, param)) = outer.find(|(place, _)| within(place, pointer)) {
            return Some(param);
        }
        let inner = self.places.iter();
        let mut inner = inner.filter(|(place, _)| !pointer.is_empty() && within(pointer, place));
        // What is wrong with a whole is more often what there are several of.
        let list = inner.clone().find_map(|(_, param)| param.split_once('['));
        match list {
            Some((list, _)) => Some(list),
            None => inner.next().map(|(_, param)| &**param),
        }
    }
}

/// A request while it is put together.
struct Writing<'a> {
    model: &'a str,
    unsupported: Unsupported,
    body: Body<'a>,
    ignored: Vec<Ignored>,
    places: Vec<(String, String)>,
}

impl<'a> Writing<'a> {
    fn field(&mut self, param: &str, given: &Given<'a>, rule: &'a Rule) -> Result<(), Refused> {
        let model = self.model;
        match rule {
            Rule::Put { to, value, choices } => match chosen(choices, given) {
                Some(given) => self.put(param, to, value.fill(&given)),
                None => {
                    let choices = choices.listed();
                    self.cannot(
                        param,
                        format!("`{param}` of model `{model}` is one of {choices}"),
                    )
                }
            },
            Rule::Refuse(why) => self.cannot(param, format!("`{param}`: model `{model}` {why}")),
            Rule::Ignore(why) => {
                self.ignore(param, &format!("`{param}`: model `{model}` {why}"));
                Ok(())
            }
        }
    }

    fn put(&mut self, param: &str, to: &'a Target, value: Body<'a>) -> Result<(), Refused> {
        match self.body.put(to, value) {
            Ok(index) => {
                self.places.push((to.pointer(index), param.to_owned()));
                Ok(())
            }
            Err(_) => {
                let model = self.model;
                let message = format!("`{param}`: model `{model}` takes one medium of this kind");
                self.cannot(param, message)
            }
        }
    }

    fn cannot(&mut self, param: &str, message: String) -> Result<(), Refused> {
        match self.unsupported {
            Unsupported::Refuse => Err(Refused::new(param, message)),
            Unsupported::Ignore => {
                self.ignore(param, &message);
                Ok(())
            }
        }
    }

    fn ignore(&mut self, param: &str, message: &str) {
        self.ignored.push(Ignored {
            param: param.to_owned(),
            message: message.to_owned(),
        });
    }

    fn finish(self) -> Mapped {
        Mapped {
            body: self.body.to_json().into(),
            ignored: self.ignored,
            places: self.places,
        }
    }
}

impl Choices {
    fn listed(&self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Of(choices) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| &**word).collect();
                words.join(", ")
            }
        }
    }
}

/// What stands for a value at the provider; none if it knows no such value.
fn chosen<'a>(choices: &Choices, given: &Given<'a>) -> Option<Given<'a>> {
    let Choices::Of(choices) = choices else {
        return Some(given.clone());
    };
    let word = given.word();
    let (_, stands_for) = choices.iter().find(|(choice, _)| *choice == word)?;
    Some(match stands_for {
        Some(value) => Given::written(value),
        None => given.clone(),
    })
}
