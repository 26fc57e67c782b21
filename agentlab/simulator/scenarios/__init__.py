"""The scenarios that ship: every module here is imported when the first one is needed."""
