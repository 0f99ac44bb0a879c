//! What filters keep of a request from one hook to a later one: each in a type of its own, which only it can name.

use std::any::Any;

/// Values of different types, at most one of each. A request has a handful, so that a search is short.
#[derive(Default)]
pub struct FilterState(Vec<Box<dyn Any + Send + Sync>>);

impl FilterState {
    /// Keeps a value, in the place of an earlier one of its type.
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

    /// The value, or its type's default from now on.
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
    use super::FilterState;

    #[test]
    fn each_type_has_one_value() {
        let mut state = FilterState::default();
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
