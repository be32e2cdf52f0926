// Package rootstest helps to test what depends on roots: directory trees from
// one-line strings, on disk and faked, and a client that answers as scripted.
//
// A line is one entry of a tree:
//
//	"d/"              a directory; parents are made as needed
//	"f=content"       a regular file
//	"f"               an empty one
//	"a/b => ../c"     a symlink with that very target
//	"a/b => $/c"      a symlink to c in the tree, as an absolute path
//
// [Tree] makes one in a temporary directory. [NewFS] fakes one, under the path
// rules of any platform, on a filesystem that may fold case and that can be
// told to fail. [Client] is a rootsmgr.RootsSource whose questions the test answers
// one by one, or by a standing answer. [RandomTree] and [AttackTree] make the trees of which
// several packages need the same.
//
// Nothing here starts a goroutine. A Client may be used from several; an FS is
// read-only once it is in use, but for Fail.
package rootstest
