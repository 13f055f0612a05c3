"""Import networks from other frameworks: measure what their neurons do, convert them, and compare every spike with the source."""
