// Package search finds tools by a question in words.
//
// [New] makes an [Index] of tools: of their names, titles, servers, descriptions, and
// of the names, descriptions and enumerated values of their arguments. [Index.Find]
// ranks the tools by BM25F: a word counts more the rarer it is, more in a name than in
// a description, and less in a long text. Names are split at capitals, underscores
// and hyphens; words are reduced to a stem.
//
// A model asks in the words of the tools. A person does not. So a word also finds
// what a table holds beside it (synonyms, abbreviations, some German, French and
// Spanish), at a lower weight. A word that no tool has finds the words, of tools and
// of the table, that it may be a misspelling, the beginning or another ending of.
//
// There is an answer wherever a tool has a word of the question, or one that may stand
// for it. If it explains too little of the question it is marked as weak.
//
// # State
//
// An Index never changes once it is made, and may be used by any number of
// goroutines. It lives in memory for as long as its catalogue does.
//
// # What it refuses to do
//
// It writes nothing to disk, asks no network, starts nothing, and learns nothing from
// questions. It reads no more than the first kilobytes of a description and of a
// question, and no schema beyond a bound, so that a server cannot make it slow. It
// decides nothing: a tool that is found is called like any other.
package search
