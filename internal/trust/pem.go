package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// parseCertificates reads PEM strictly: a block that cannot be read would be an authority that a person believes to count.
func parseCertificates(data []byte) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		before := data
		if block, data = pem.Decode(data); block == nil {
			if bytes.Contains(before, []byte("-----BEGIN")) {
				return nil, errors.New("it holds a block that is no PEM")
			}
			break
		}
		if block.Type != "CERTIFICATE" {
			continue // a key or parameters in the same file
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return all, nil
}
