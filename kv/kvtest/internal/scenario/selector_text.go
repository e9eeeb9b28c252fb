// SPDX-License-Identifier: Apache-2.0

package scenario

import "github.com/kazahana-db/kazahana/kv"

func (s SelectorText) show(known Stamps) string {
	sel, err := s.Selector(known)
	if err != nil {
		return "‹" + err.Error() + "›"
	}
	return sel.String()
}

type SelectorText struct {
	Key     Text `json:"key"`
	OrEqual bool `json:"or_equal,omitzero"`
	Offset  int  `json:"offset,omitzero"`
}

func (s SelectorText) Selector(known Stamps) (kv.KeySelector, error) {
	key, err := s.Key.Bytes(known)
	return kv.KeySelector{Key: key, OrEqual: s.OrEqual, Offset: s.Offset}, err
}
