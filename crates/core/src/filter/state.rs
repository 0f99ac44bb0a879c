//! Values that filters keep between hooks of one request, each under a type private to its filter, but for few.

use std::any::Any;

/// What a request counts in tokens, if a filter knows that better than an estimate by its body: the one value that filters share.
/// `rate_limit` reads it.
pub struct RequestTokenCount(pub u64);

/// At most one value of each type. A request has only a few, so a linear search is fast.
#[derive(Default)]
pub struct RequestFilterValues(Vec<Box<dyn Any + Send + Sync>>);

impl RequestFilterValues {
    /// Stores a value; replaces an earlier one of the same type.
    pub fn set<T: Any + Send + Sync>(&mut self, value: T) {
        match self.get_mut() {
            Some(kept) => *kept = value,
            None => self.0.push(Box::new(value)),
        }
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|value| value.downcast_ref())
    }

    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|value| value.downcast_mut())
    }

    /// The value of this type; inserts the default if there is none.
    pub fn get_or_default<T: Any + Default + Send + Sync>(&mut self) -> &mut T {
        let at = self.0.iter().position(|value| value.is::<T>());
        let at = at.unwrap_or_else(|| {
            self.0.push(Box::new(T::default()));
            self.0.len() - 1
        });
        let value = self.0[at].downcast_mut();
        value.expect("the value at this place has the type that was searched for")
    }

    pub fn take<T: Any>(&mut self) -> Option<T> {
        let at = self.0.iter().position(|value| value.is::<T>())?;
        let value = self.0.swap_remove(at).downcast().ok()?;
        Some(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestFilterValues;

    #[test]
    fn each_type_has_one_value() {
        let mut state = RequestFilterValues::default();
        assert_eq!(state.get::<u8>(), None);
        state.set(1_u8);
        state.set("text");
        state.set(2_u8);
        *state.get_or_default::<u64>() += 3;
        *state.get_mut::<&str>().unwrap() = "other";
        assert_eq!(state.get(), Some(&2_u8));
        assert_eq!(state.take(), Some("other"));
        assert_eq!(state.take::<&str>(), None);
        assert_eq!((state.get(), state.get()), (Some(&2_u8), Some(&3_u64)));
    }
}
