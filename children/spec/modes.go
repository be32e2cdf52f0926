package spec

import (
	"mcphub/children/program"
)

// Era says in which family of protocol versions a child is spoken to.
type Era uint8

const (
	// EraAuto is the era of the client, or the other if the child does not have it.
	EraAuto Era = iota
	// EraLegacy is the handshake: 2024-11-05 to 2025-11-25.
	EraLegacy
	// EraModern has no handshake and no session: 2026-07-28.
	EraModern
)

func (e Era) String() string {
	switch e {
	case EraLegacy:
		return "legacy"
	case EraModern:
		return "modern"
	}
	return "auto"
}

// Other returns the other one of the two eras.
func (e Era) Other() Era {
	if e == EraModern {
		return EraLegacy
	}
	return EraModern
}

// RootsMode describes how a child learns which directories are open (the
// entry's "roots" in hub.json).
type RootsMode uint8

const (
	// RootsAuto lets the command decide: a filesystem-like one gets its
	// directory arguments rewritten, every child may ask roots/list.
	RootsAuto RootsMode = iota
	// RootsArgs rewrites directory arguments whatever the command is.
	RootsArgs
	// RootsList answers roots/list and leaves the arguments alone.
	RootsList
	// RootsNone declares no roots to the child and leaves its arguments alone.
	RootsNone
)

func (m RootsMode) String() string {
	switch m {
	case RootsArgs:
		return "args"
	case RootsList:
		return "list"
	case RootsNone:
		return "none"
	}
	return "auto"
}

// rewriteMode returns which directory arguments are replaced by roots.
func (m RootsMode) rewriteMode() program.Rewrite {
	switch m {
	case RootsAuto:
		return program.RewriteKnown
	case RootsArgs:
		return program.RewriteAlways
	}
	return program.RewriteNever
}

// Share says who shares one process of a child.
type Share uint8

const (
	// ShareSession gives each session its own process.
	ShareSession Share = iota
	// ShareRoots shares one process among sessions with the very same roots.
	ShareRoots
	// ShareAll has one process for everybody.
	ShareAll
)

func (share Share) String() string {
	switch share {
	case ShareRoots:
		return "roots"
	case ShareAll:
		return "all"
	}
	return "session"
}

// StartMode says when a child starts.
type StartMode uint8

const (
	// StartLazy starts a child when it is first called, once it is known what it
	// offers; until then like StartEager, or no one could be told.
	StartLazy StartMode = iota
	// StartEager starts a child as soon as it may be started.
	StartEager
	// StartCalled starts a child when it is first called, whether or not it is known what
	// it offers. For commands that are about another server.
	StartCalled
)
