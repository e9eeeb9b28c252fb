// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
)

// masterKey stands for 32 random bytes from a file or a vault.
var masterKey = []byte("never put your own key in source")

func Example() {
	codec, err := external.New(external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: masterKey}})
	if err != nil {
		panic(err)
	}
	orders := codec.For("order")

	text := orders.Encode(211469771380744768)
	id, err := orders.Decode(text)
	fmt.Println(text, id, err)

	_, err = orders.Decode(text + "=")
	fmt.Println(errors.Is(err, external.ErrSpelling))
	// Output:
	// 6PkiL_g23Gw 211469771380744768 <nil>
	// true
}

// Without a key IDs are scrambled: neighbours look unrelated, but every program
// with this package can undo it.
func Example_scramble() {
	codec := idgen.Must(external.New(external.Options{}))
	for id := range idgen.ID(3) {
		fmt.Println(codec.Encode(211469771380744768 + id))
	}
	// Output:
	// OgB0XY30n3U
	// ewG18-FLAP4
	// stc_QzhHKXc
}

// orderIDs says how the API below writes the IDs of orders.
type orderIDs struct{}

var orderCodec = idgen.Must(external.New(external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: masterKey}})).For("order")

func (orderIDs) Codec() *external.Codec { return orderCodec }

type orderView struct {
	ID     external.ID[orderIDs] `json:"id"`
	Amount int64                 `json:"amount"`
}

// An API that shows external IDs and takes them in paths.
func ExampleID() {
	amounts := map[idgen.ID]int64{211469771380744768: 1000}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := orderCodec.Decode(r.PathValue("id"))
		amount, ok := amounts[id]
		if err != nil || !ok {
			http.NotFound(w, r) // the same answer for both
			return
		}
		_ = json.NewEncoder(w).Encode(orderView{ID: external.ID[orderIDs](id), Amount: amount})
	})
	for _, path := range []string{"/orders/" + orderCodec.Encode(211469771380744768), "/orders/AAAAAAAAAAA"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 {"id":"6PkiL_g23Gw","amount":1000}
	// 404 404 page not found
}
