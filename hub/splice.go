package hub

import "mcphub/internal/jsonrpc"

// Short names for what package jsonrpc does with parts of a message.
type edit = jsonrpc.Edit

func splice(raw []byte, edits ...edit) [][]byte { return jsonrpc.Splice(raw, edits...) }

func join(parts [][]byte) []byte { return jsonrpc.Join(parts) }
