// Package gitconfig reads the configuration files of git as git does, and reports which of their lines hold credentials.
//
// [Parse] makes a [Line] of each variable. [Line.HoldsCredential] reports whether a line holds a credential: a header, a file of cookies, a
// password, a token, or an address with a user in it. [WhySecret] names the first such line of a file. [Append] writes a line from what was
// read, so that a copy holds only what was judged.
//
// The package opens no file, follows no include, and runs nothing. What it cannot read as git does is an error; the lines before
// it are returned. A Line is a value. All functions may be used by any goroutine.
package gitconfig
