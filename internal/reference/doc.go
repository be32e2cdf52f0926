// Package reference knows the references to secrets that an entry of hub.json
// may hold: ${keyring:NAME}, ${input:ID} and ${file:PATH}.
//
// A reference is read once, with the file, and from then on stands in the text
// as a mark: its kind and its name between two NUL characters. A mark is
// replaced by the value in the last step before a child starts. Everything
// before that step (comparison, digests, plans, reports) sees marks only.
//
// A mark cannot be forged. Texts of hub.json, variables of the environment and
// paths hold no NUL: cmd/mcphub/internal/config refuses the first, the system knows no
// others. So a directory that is called ${keyring:X} is a directory and
// nothing else.
//
// Concurrency: values and pure functions. The package looks up no secret and
// reads no file.
package reference
