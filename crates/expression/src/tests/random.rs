//! Random texts and random well-formed expressions from a seed.

/// SplitMix64.
pub struct SeededRandom(pub u64);

const VOCABULARY: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    "-",
    "!",
    "?",
    ":",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "in",
    "true",
    "false",
    "null",
    "1",
    "0",
    "1.5",
    "9223372036854775807",
    "1u",
    "\"a\"",
    "'b'",
    "r\"\\d\"",
    "b\"x\"",
    "\"",
    "'",
    "\\",
    "`",
    "//",
    "\n",
    " ",
    "#3",
    "@",
    "ä",
    "\u{1f600}",
    "\0",
    "request",
    "headers",
    "request.headers",
    "request.method",
    "json(\"/a\")",
    "json",
    "model",
    "now.hour",
    "x",
    "has",
    "all",
    "exists",
    "map",
    "filter",
    "size",
    "matches",
    "sample",
    "in_network",
    "const",
    "_&&_",
    "@result",
    "1e999",
    "0x",
    "0xg",
    ".5",
    "..",
    "...",
    "=",
    "&",
    "|",
];

const LITERALS: &[&str] = &[
    "0",
    "1",
    "2",
    "-3",
    "9223372036854775807",
    "1.5",
    "-0.25",
    "1e10",
    "true",
    "false",
    "null",
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "'ä\\u00e4'",
    "[]",
    "[1, 2]",
    "[\"a\", \"b\"]",
    "{}",
    "{\"a\": 1}",
];

const NAMES: &[&str] = &[
    "request.method",
    "request.headers[\"x-tier\"]",
    "request.params.id",
    "client.address",
    "now.hour",
    "model",
    "request.size",
    "usage.total_tokens",
    "json(\"/messages\")",
    "json(\"/max_tokens\")",
    "json(\"/absent\")",
    "json(\"\")",
    "response_json(\"/choices/0\")",
];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in",
];

/// What random expressions are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ExpressionKind {
    /// Literals, operators, macros and functions that the standard has.
    Closed,
    /// Also names and functions of our own.
    Open,
}

impl SeededRandom {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    pub fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.below(from.len())]
    }

    /// A text of tokens, most of them in a wrong place.
    pub fn tokens(&mut self) -> String {
        let count = 1 + self.below(24);
        let space = ["", " "][self.below(2)];
        let tokens: Vec<&str> = (0..count).map(|_| self.pick(VOCABULARY)).collect();
        tokens.join(space)
    }

    /// A text of tokens that look like numbers.
    pub fn numbers(&mut self) -> String {
        let parts = [
            "0", "9", "1", ".", "e", "E", "x", "X", "f", "u", "U", "+", "-", "_", " ",
        ];
        let count = 1 + self.below(24);
        (0..count).map(|_| self.pick(&parts)).collect()
    }

    /// A text of characters.
    pub fn characters(&mut self) -> String {
        let count = self.below(60);
        let character = |random: &mut Self| match random.below(4) {
            0 => char::from_u32(random.below(0x11_0000) as u32).unwrap_or('x'),
            _ => char::from(random.below(0x80) as u8),
        };
        (0..count).map(|_| character(self)).collect()
    }

    /// A well-formed text with one character removed, added or doubled.
    pub fn damaged(&mut self) -> String {
        let mut text: Vec<char> = self.expression(ExpressionKind::Open, 4).chars().collect();
        let at = self.below(text.len());
        match self.below(3) {
            0 => drop(text.remove(at)),
            1 => text.insert(at, self.pick(VOCABULARY).chars().next().unwrap()),
            _ => text.insert(at, text[at]),
        }
        text.into_iter().collect()
    }

    /// A well-formed expression.
    pub fn expression(&mut self, kind: ExpressionKind, depth: usize) -> String {
        self.part(kind, depth, false)
    }

    fn part(&mut self, kind: ExpressionKind, depth: usize, in_macro: bool) -> String {
        if depth == 0 || self.below(8) == 0 {
            return self.leaf(kind, in_macro);
        }
        let part = |random: &mut Self| random.part(kind, depth - 1, in_macro);
        match self.below(if in_macro { 13 } else { 15 }) {
            0..=4 => {
                let (left, right) = (part(self), part(self));
                format!("({left} {} {right})", self.pick(OPERATORS))
            }
            5 => format!("!({})", part(self)),
            6 => format!("-({})", part(self)),
            7 => format!("({} ? {} : {})", part(self), part(self), part(self)),
            8 => format!("[{}, {}]", part(self), part(self)),
            9 => format!("{{\"k\": {}, \"l\": {}}}", part(self), part(self)),
            10 => format!("({})[{}]", part(self), part(self)),
            11 => self.standard_call(kind, depth, in_macro),
            12 if kind == ExpressionKind::Open => self.own_call(depth, in_macro),
            12 => format!("({}).k", part(self)),
            _ => self.macro_call(kind, depth),
        }
    }

    fn leaf(&mut self, kind: ExpressionKind, in_macro: bool) -> String {
        match self.below(4) {
            0 if in_macro => "x".into(),
            1 | 2 if kind == ExpressionKind::Open => self.pick(NAMES).into(),
            _ => self.pick(LITERALS).into(),
        }
    }

    fn standard_call(&mut self, kind: ExpressionKind, depth: usize, in_macro: bool) -> String {
        let argument = self.part(kind, depth - 1, in_macro);
        match self.below(7) {
            0 => format!("size({argument})"),
            1 => format!("string({argument})"),
            2 => format!("int({argument})"),
            3 => format!("double({argument})"),
            member => {
                let name = ["contains", "startsWith", "endsWith"][member % 3];
                format!(
                    "({argument}).{name}({})",
                    self.part(kind, depth - 1, in_macro)
                )
            }
        }
    }

    fn own_call(&mut self, depth: usize, in_macro: bool) -> String {
        let kind = ExpressionKind::Open;
        let part = |random: &mut Self| random.part(kind, depth - 1, in_macro);
        match self.below(8) {
            0 => format!("min({}, {})", part(self), part(self)),
            1 => format!("max({}, {})", part(self), part(self)),
            2 => format!("({}).split({})", part(self), part(self)),
            3 => format!("({}).join({})", part(self), part(self)),
            4 => format!("({}).substring({}, {})", part(self), part(self), part(self)),
            5 => format!("({}).replace({}, {})", part(self), part(self), part(self)),
            6 => format!("({}).matches(\"^[a-z]+$\")", part(self)),
            _ => format!("sample({}, {})", part(self), part(self)),
        }
    }

    fn macro_call(&mut self, kind: ExpressionKind, depth: usize) -> String {
        let range = match self.below(2) {
            0 => self.leaf(kind, false),
            _ => "[1, 2, 3]".into(),
        };
        let body = self.part(kind, depth - 1, true);
        match self.below(6) {
            0 => format!(
                "({range}).map(x, {}, {body})",
                self.part(kind, depth - 1, true)
            ),
            1 => format!("({range}).exists_one(x, {body})"),
            other => {
                let name = ["all", "exists", "filter", "map"][other - 2];
                format!("({range}).{name}(x, {body})")
            }
        }
    }
}
