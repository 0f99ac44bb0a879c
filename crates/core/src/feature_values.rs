//! Objects that features share between their parts, each found by its type.

use std::any::{Any, TypeId, type_name};
use std::sync::Arc;

/// Objects of features, at most one of each type. Only the feature that adds an object names its type.
#[derive(Clone, Default)]
pub struct FeatureTypeMap(Vec<(TypeId, Arc<dyn Any + Send + Sync>)>);

impl FeatureTypeMap {
    /// Adds an object; replaces an earlier one of the same type.
    pub fn set<T: Any + Send + Sync>(&mut self, value: Arc<T>) {
        let id = TypeId::of::<T>();
        match self.0.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => *known = value,
            None => self.0.push((id, value)),
        }
    }

    /// The object of this type, which the caller's own feature has added.
    ///
    /// # Panics
    /// There is none: the feature is not in the program's list.
    pub fn get<T: Any + Send + Sync>(&self) -> Arc<T> {
        let value = self.find();
        value.unwrap_or_else(|| panic!("no feature adds a {}", type_name::<T>()))
    }

    fn find<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let id = TypeId::of::<T>();
        let (_, value) = self.0.iter().find(|(known, _)| *known == id)?;
        value.clone().downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureTypeMap;
    use std::sync::Arc;

    #[test]
    fn each_type_has_one_object_and_copies_of_the_map_share_it() {
        let mut values = FeatureTypeMap::default();
        assert_eq!(values.find::<u8>(), None);
        values.set(Arc::new(1_u8));
        values.set(Arc::new("text"));
        values.set(Arc::new(2_u8));
        let copy = values.clone();
        assert_eq!(copy.find(), Some(Arc::new(2_u8)));
        assert!(Arc::ptr_eq(&copy.get::<&str>(), &values.get::<&str>()));
    }
}
