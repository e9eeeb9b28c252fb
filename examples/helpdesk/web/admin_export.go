// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"time"
)

// maxBlock is how long the client of an export may take for a block of about 400 kB. One
// that reads no more must not keep the tenant locked.
const maxBlock = time.Minute

// exportTenant sends a tenant as a stream. If it fails on the way, the connection is cut:
// a stream without its end is refused by the import.
func (a *Admin) exportTenant(w http.ResponseWriter, r *http.Request) error {
	out := &blockWriter{w: w, connection: http.NewResponseController(w)}
	err := a.Registry.Export(r.Context(), r.PathValue("name"), out)
	if err != nil && out.begun {
		a.Log.Error("an export failed", "tenant", r.PathValue("name"), "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// blockWriter is a response that begins with the first block, so that an error before it can
// still be answered with its status.
type blockWriter struct {
	w          http.ResponseWriter
	connection *http.ResponseController
	begun      bool
}

// Write implements io.Writer.
func (b *blockWriter) Write(block []byte) (int, error) {
	if !b.begun {
		b.w.Header().Set("Content-Type", "application/octet-stream")
		b.w.Header().Set("Connection", "close") // its next request would have the deadline of the last block
		b.begun = true
	}
	if err := b.connection.SetWriteDeadline(time.Now().Add(maxBlock)); err != nil {
		return 0, err
	}
	return b.w.Write(block)
}

// unlockTenant ends the lock of an export after its process was killed.
func (a *Admin) unlockTenant(w http.ResponseWriter, r *http.Request) error {
	if err := a.Registry.Unlock(r.Context(), r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
