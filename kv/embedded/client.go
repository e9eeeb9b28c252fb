// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// client is what the transactions of one database share.
type client struct {
	engine    *engine
	defaults  settings
	lastBatch rangeread.SizeHint
}

func newClient(db *Database, d kv.TransactionDefaults) *client {
	return &client{engine: &engine{db}, defaults: defaultSettings(d)}
}
