// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// gatherBoth collects the entries of a record in all maintained indexes: in the
// program's own from the struct v, in foreign ones from the payload.
func (r *record) gatherBoth(set *index.Set, o *openStore, id, key []byte, v any, payload []byte) error {
	if err := r.gatherEntries(set, o, id, v); err != nil {
		return err
	}
	return r.gatherForeign(set, o, id, key, v, payload)
}

// gatherForeign adds the entries of a record in foreign indexes.
func (r *record) gatherForeign(set *index.Set, o *openStore, id, key []byte, v any, payload []byte) error {
	if !o.hasForeign() {
		return nil
	}
	_, payload, err := r.bind(payload, nil)
	if err == nil {
		err = o.gatherForeign(r, set, id, v, payload)
	}
	var malformed *wire.Error
	if errors.As(err, &malformed) {
		return recordError(r.Type, idText(id), key, err)
	}
	return r.indexError(err)
}
