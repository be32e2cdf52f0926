package rootsmgr

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"mcphub/rootsmgr/guard"
)

// RootSetID returns the digest of all that a child can tell about the roots of a
// principal: who that is, and each root's URI, path and label, in order. The order
// counts because the first root is the working directory and ${root}, the labels
// because a child is shown them.
func RootSetID(principal string, roots []guard.Root) string {
	h := sha256.New()
	put := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	put(principal)
	for i := range roots {
		put(roots[i].URI)
		put(roots[i].Path)
		put(roots[i].Label())
	}
	return "roots-" + hex.EncodeToString(h.Sum(nil))
}
