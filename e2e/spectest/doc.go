// Package spectest holds what a program says against the specification of the Model Context Protocol: each message against the
// official JSON schema of the version that it belongs to, and each conversation against those rules that no schema can tell:
// who may ask what, which answer belongs to which question, what a subscription may carry.
//
// It is for tests: no program imports it, and the import rules see to that. The schemas are the ones that the specification
// publishes (schema/<version>/schema.json of its repository), byte for byte. A Conversation is what one client and one server
// say to each other over one connection; on Streamable HTTP, where ids are unique only within one request of the era without a
// handshake, each such request is a conversation of its own.
//
// Concurrency: a Conversation takes messages from any goroutine, in the order in which they are to be judged. Schemas are
// compiled once and shared.
//
// It refuses to guess: a message whose version has no schema here is counted as unjudged and nothing else, and a test that wants
// something to be proved must look at Judged.
package spectest
