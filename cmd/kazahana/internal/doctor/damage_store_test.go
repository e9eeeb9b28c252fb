// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// storeDamages are what is wrong with, or worth knowing of, whole stores, indexes and tenants.
var storeDamages = []damage{
	{"former header", "store/bad-history", func(w world) []byte {
		key := w.order("S", "Order", "history", 1)
		w.tx.Set(key, []byte("x"))
		return key
	}},
	{"store without records", "store/empty", func(w world) []byte {
		for _, letter := range []string{"R", "I"} {
			w.tx.ClearRange(kv.PrefixRange(w.key("settings", letter)))
		}
		return nil
	}},
	{"moved store", "store/wrong-directory", func(w world) []byte {
		_, err := directory.Root().Move(w.t.Context(), w.tx, []string{"events"}, []string{"old"})
		check(w.t, err)
		return nil
	}},
	{"counts with a damaged record", "index/not-compared record/undecodable", func(w world) []byte {
		key := w.order("R", "Order", anOrder)
		w.tx.Set(key, append(w.get(key), 0xff))
		return key
	}},
	{"disabled index", "index/disabled", func(w world) []byte { return w.state("Order_Editor", 0) }},
	{"index under construction", "index/building", func(w world) []byte { return w.state("Order_Editor", 1) }},
	{"index of a newer program", "index/needs-code", func(w world) []byte {
		w.header(func(t tuple.Tuple) {
			t[1] = append(t[1].(tuple.Tuple), tuple.Tuple{"Order_Editor_new", "Editor:*string:new=1", int64(2)})
		})
		return nil
	}},
	{"keys of a program", "directory/unknown-contents", func(w world) []byte {
		w.create("app")
		w.tx.Set(w.key("app", 7), nil)
		return nil
	}},
	{"quota that is not counted", "tenant/counting", func(w world) []byte { return w.settings("tenants/tenant-3", 1, "", "", 1000, 0, 1) }},
	{"locked tenant", "tenant/locked", func(w world) []byte { return w.settings("tenants/tenant-3", 1, "id", "export", 0, 0, 0) }},
	{"arriving tenant", "tenant/interrupted", func(w world) []byte {
		w.create("kazahana", "tenants", "/tenants", "arriving", "tenant-9")
		return nil
	}},
	{"removed tenant", "tenant/removed", func(w world) []byte {
		w.create("kazahana", "tenants", "/tenants", "removed", "tenant-9", "id")
		return nil
	}},
}

// create creates a directory.
func (w world) create(path ...string) {
	w.t.Helper()
	_, err := directory.Root().Create(w.t.Context(), w.tx, path)
	check(w.t, err)
}

// state changes the state of an index of the orders.
func (w world) state(name string, state int64) []byte {
	w.header(func(t tuple.Tuple) {
		for _, ix := range t[1].(tuple.Tuple) {
			if ix := ix.(tuple.Tuple); ix[0] == name {
				ix[2] = state
			}
		}
	})
	return nil
}

// violation writes one of the unique index of the orders.
func (w world) violation(value []byte) []byte {
	key := w.order("S", "Order", "violation", "Order_Number_unique", anOrder, []byte("digest"))
	w.tx.Set(key, value)
	return key
}

// settings writes those of a tenant.
func (w world) settings(path string, elements ...any) []byte {
	key := w.dir(path).Annotation("kazahana").Sub("settings").Bytes()
	value, err := tuple.Tuple(elements).Pack()
	check(w.t, err)
	w.tx.Set(key, value)
	return key
}
