// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// keysOnPage is how many keys a page lists.
const keysOnPage = 25

// keysPage is the data of a page of the list of keys.
type keysPage struct {
	Prefix string
	After  string // the last key of the page before, "" on the first one
	Keys   []idbuilder.ConfigEntry
	Next   string // the key that the next page begins after; "" on the last one
}

func (c *Console) showKeys(v *visit) error {
	p := keysPage{Prefix: v.FormValue("prefix"), After: v.FormValue("after")}
	configs, more, err := c.worker.Configs(v.Context(), store.ListOptions{Prefix: p.Prefix, After: p.After, Limit: keysOnPage})
	if err != nil {
		return err
	}
	p.Keys = configs
	if more {
		p.Next = configs[len(configs)-1].Key
	}
	notice := ""
	if v.FormValue("done") == "deleted" {
		notice = "The key was deleted."
	}
	return v.render(http.StatusOK, page{Name: "keys", Title: "Keys", Section: "keys", Notice: notice, Data: p})
}
