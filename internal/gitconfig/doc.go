// Package gitconfig reads the configuration files of git as git does, and tells which of their lines hold credentials.
//
// [Parse] makes [Line]s of a text. [Line.Credential] says of a line by which a login is told: a header, a file of cookies, a
// password, a token, an address with a user in it. [WhySecret] says it of a file. [Append] writes a line anew from what was read, so that nothing comes into a
// copy but what was judged.
//
// The package opens no file, follows no include, and runs nothing. What it cannot read as git does is an error; the lines before
// it are returned. A Line is a value. All functions may be used by any goroutine.
package gitconfig
