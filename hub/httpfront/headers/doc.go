// Package headers reads what the headers of a request over Streamable HTTP say, and compares them with
// its body.
//
// The one who stands before the hub may have gone by the headers, and the hub goes by the body (2026-07-28,
// Streamable HTTP, Server Validation): so a header that may be there once counts only if it is there once
// (DuplicateHeader), and one that repeats a part of the body must say the same (CheckVersion, CheckMethod,
// CheckMirrors). mcp-go has such checks too, but folds the case of members, takes the first of two headers,
// reads "0x2a" as 42 and lets pass what it cannot read.
//
// The package has no state: its functions are pure, and safe for concurrent use. CarryTrace alone changes the
// message that it is given.
//
// # What it refuses to do
//
// It knows no session and no caller, writes no answer, and guesses nothing: a header that cannot be read
// is a mismatch.
package headers
