package world

// ModernVersion is the version without a handshake.
const ModernVersion = "2026-07-28"

// Era is one of the ways in which a client and a hub begin.
type Era struct{ Name, Version string }

// Eras are the newest version of each.
var Eras = []Era{{"handshake", "2025-11-25"}, {"modern", ModernVersion}}
