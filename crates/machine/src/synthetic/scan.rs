//! Cuts a synthetic string into words, keeping where each stands.

use crate::MachineError;

/// A piece of the string and where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) text: &'a str,
}

impl Token<'_> {
    /// An error at this token.
    pub(super) fn error(&self, what: impl Into<String>) -> MachineError {
        let token = if self.text.is_empty() {
            "end".to_owned()
        } else {
            self.text.chars().take(32).collect()
        };
        MachineError::Synthetic { at: self.at, token, what: what.into() }
    }
}

/// `key=value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute<'a> {
    pub(super) key: &'a str,
    pub(super) value: &'a str,
    pub(super) token: Token<'a>,
}

pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next character that is no white space, not taken.
    pub(super) fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    /// The next word, up to white space or a bracket; empty at the end and at a bracket.
    pub(super) fn word(&mut self) -> Token<'a> {
        self.peek();
        let (at, rest) = (self.at, &self.text[self.at..]);
        let length =
            rest.find(|c: char| c.is_whitespace() || "()[]".contains(c)).unwrap_or(rest.len());
        self.at += length;
        Token { at, text: &rest[..length] }
    }

    /// The attributes in parentheses that come next, if any.
    pub(super) fn attributes(&mut self) -> Result<Vec<Attribute<'a>>, MachineError> {
        let Some(inside) = self.inside('(', ')')? else { return Ok(Vec::new()) };
        let mut scan = Scan { text: &self.text[..inside.at + inside.text.len()], at: inside.at };
        let mut found = Vec::new();
        while scan.peek().is_some() {
            let token = scan.word();
            if token.text.is_empty() {
                return Err(inside.error("attributes are key=value, separated by spaces"));
            }
            let (key, value) = token.text.split_once('=').unwrap_or((token.text, ""));
            found.push(Attribute { key, value, token });
        }
        Ok(found)
    }

    /// What stands between `open` and `close`, if `open` comes next. Takes nested parentheses as
    /// part of it.
    pub(super) fn inside(
        &mut self,
        open: char,
        close: char,
    ) -> Result<Option<Token<'a>>, MachineError> {
        if self.peek() != Some(open) {
            return Ok(None);
        }
        let start = self.at + open.len_utf8();
        let Some(length) = self.text[start..].find(close) else {
            return Err(Token { at: self.at, text: &self.text[self.at..] }
                .error(format!("no `{close}` closes this")));
        };
        self.at = start + length + close.len_utf8();
        Ok(Some(Token { at: start, text: &self.text[start..start + length] }))
    }
}
