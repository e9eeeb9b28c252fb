// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"net/http"

	"github.com/kazahana-db/kazahana/kv"
)

var errNoSession = errors.New("the session has ended: open the link that the command printed")

// info is what the page shows of the database at every view.
type info struct {
	Database string `json:"database"`
	Engine   string `json:"engine"` // embedded or cluster
	Write    bool   `json:"write"`
	Version  string `json:"version"` // the version that is read, in decimal
	Bytes    int64  `json:"bytes"`   // by the engine's estimate
}

func (h *Handler) info(r *http.Request) (any, error) {
	i := info{Database: h.options.Database, Engine: "cluster", Write: h.options.Write}
	if h.samples != nil {
		i.Engine = "embedded"
	}
	err := h.db.Engine().ReadTransact(r.Context(), func(tx kv.ReadTransaction) error {
		v, err := tx.GetReadVersion().Get(r.Context())
		if err != nil {
			return err
		}
		i.Version = decimal(v)
		i.Bytes, err = newMeasurement(h, tx).sizeOf(r.Context(), allKeys)
		return err
	})
	return i, err
}

// allKeys are the keys that programs may use.
var allKeys = kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}
