// SPDX-License-Identifier: Apache-2.0

package persistable

// openPlaces are the places that a transaction has opened. The first needs no
// allocation: most transactions open one.
type openPlaces struct {
	first openPlace
	more  []openPlace
}

type openPlace struct {
	place *place
	store *openStore // nil: there is none
}

func (o *openPlaces) find(p *place) (s *openStore, found bool) {
	if o.first.place == p {
		return o.first.store, true
	}
	for _, other := range o.more {
		if other.place == p {
			return other.store, true
		}
	}
	return nil, false
}

func (o *openPlaces) add(p *place, s *openStore) {
	if o.first.place == nil {
		o.first = openPlace{p, s}
		return
	}
	o.more = append(o.more, openPlace{p, s})
}
