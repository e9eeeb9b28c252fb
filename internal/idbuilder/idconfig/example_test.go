// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

func ExampleParse() {
	for _, body := range []string{
		`{"key": "orders", "base": 1000}`,   // the specification's dialect
		`{"name": "orders", "start": 1001}`, // the deployed worker's
		`{"key": "orders", "base": 1, "start": 2, "detla": 5}`,
	} {
		r, err := idconfig.Parse(idconfig.TypeIncrement, []byte(body), time.Now())
		if err != nil {
			fmt.Println(err) // joins a *ParamError for each fault
			continue
		}
		fmt.Println(r.Key, "begins with", r.Increment.Start())
	}
	// Output:
	// orders begins with 1001
	// orders begins with 1001
	// detla: there is no such parameter; did you mean delta?
}

func ExampleConfig_Encode() {
	r, err := idconfig.Parse(idconfig.TypeIncrement, []byte(`{"key": "orders", "base": 1000}`), time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := r.Encode()
	fmt.Println(string(value), err)
	c, err := idconfig.Decode(store.Document{Key: "orders", Type: string(idconfig.TypeIncrement), Value: value})
	fmt.Println(c.Increment.Base, err)
	// Output:
	// {"base":1000,"delta":1,"max_request_delta":100,"rand_delta":false} <nil>
	// 1000 <nil>
}

// A change is checked against all formats that the key has had.
func ExampleCheckChange() {
	invoices := func(prefix, digits string) *idconfig.Config {
		body := fmt.Sprintf(`{"name": "invoices", "pattern": "%s-{SEQ:%s}"}`, prefix, digits)
		r, err := idconfig.Parse(idconfig.TypeFormatted, []byte(body), time.Now())
		if err != nil {
			panic(err)
		}
		return &r.Config
	}
	old := invoices("INV", "4")
	for _, next := range []*idconfig.Config{invoices("INV", "6"), invoices("BILL", "4"), invoices("INV-1", "4")} {
		err := idconfig.CheckChange(old, next)
		fmt.Println(next.Formatted.Pattern, "is allowed:", err == nil)
	}
	next := invoices("BILL", "4")
	next.Succeed(old) // before next is stored
	fmt.Println(len(next.Formatted.Earlier), "earlier format")
	// Output:
	// INV-{SEQ:6} is allowed: true
	// BILL-{SEQ:4} is allowed: true
	// INV-1-{SEQ:4} is allowed: false
	// 1 earlier format
}
