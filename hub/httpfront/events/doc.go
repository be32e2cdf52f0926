// Package events keeps what one client is told until it has it, and writes it as
// server-sent events (Streamable HTTP; HTML, section 9.2).
//
// A [Stream] is in order and bounded in bytes, alone and with the others of its session. A
// client whose connection broke goes on where it was. One connection at a time follows a
// Stream; one that comes later takes it over.
//
// The mutex of a Stream guards all of it. Nothing is started here: the one who follows writes.
//
// The package knows no session and no request. It drops a notification for which there is no
// room, and never an answer.
package events
