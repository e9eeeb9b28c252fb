// SPDX-License-Identifier: Apache-2.0

package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// List returns the tokens that are stored and have not expired, in the order of their
// keys. The admin token of the options is not stored. Tokens of a key that cannot be read hide
// no others: then List returns these with an error that joins one for each such key, of which
// [store.IsUnreadable] is true. After another error the list is not complete.
func (a *Authority) List(ctx context.Context) (list []Info, err error) {
	const page = 1000
	var unread []error
	for after := "#~"; ; { // after the indexes, the keys of which are # and hexadecimal digits
		documents, err := a.store.List(ctx, store.Tokens, store.ListOptions{After: after, Limit: page})
		if err != nil {
			return list, fmt.Errorf("token: %w", errors.Join(append(unread, err)...))
		}
		for _, d := range documents {
			after = d.Key
			infos, err := a.infosOf(d)
			if err != nil {
				unread = append(unread, err)
			}
			list = append(list, infos...)
		}
		if len(documents) < page {
			return list, errors.Join(unread...)
		}
	}
}

// infosOf returns descriptions of the tokens of a document.
func (a *Authority) infosOf(d store.Document) (list []Info, err error) {
	if d.Key == markKey {
		return nil, nil
	}
	r, err := decodeRecord(d)
	if err != nil {
		return nil, err
	}
	key, isWorker := d.Key, d.Key == workerKey
	if key == adminKey || isWorker {
		key = ""
	}
	for _, e := range r.Tokens {
		if e.isValid(a.options.Now()) {
			list = append(list, Info{key, isWorker, e.Created, e.Expires})
		}
	}
	return list, nil
}

// Info describes a stored token, without its text.
type Info struct {
	Key     string // "" for a token of admins or workers, [GlobalKey] for the one of all keys
	Worker  bool   // a token of workers
	Created time.Time
	Expires time.Time // zero: it does not expire
}
