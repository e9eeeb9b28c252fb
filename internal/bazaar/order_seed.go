// SPDX-License-Identifier: Apache-2.0

package bazaar

import (
	"fmt"
	"time"
)

// newOrder returns the i-th order of a tenant. Every third has all its fields.
func newOrder(tenant string, i int) *Order {
	o := &Order{
		TenantID: tenant, Number: fmt.Sprintf("A-%d", 1001+i), Status: Status(i % 3), Country: []string{"DE", "FR", "IT", "DE"}[i%4],
		CreatedAt: start.Add(time.Duration(i) * time.Hour), Amount: int64(i*i*100 - 300), Units: uint32(i),
		Address: Address{City: []string{"Köln", "Paris", "Roma", ""}[i%4]}, Rate: float64(i) / 8,
	}
	if i%3 == 0 {
		o.fill(i)
	}
	return o
}

// fill sets the fields that many orders do not have.
func (o *Order) fill(i int) {
	editor, zip, paid := []string{"ada", "grace", ""}[i/3%3], "50667", o.CreatedAt.Add(time.Minute)
	o.Editor, o.PaidAt, o.Took, o.Done = &editor, &paid, 90*time.Second, true
	o.Tags = []string{"new", fmt.Sprintf("batch-%d", i/6)}
	o.Address.Street, o.Address.Zip = "Domkloster 4", &zip
	o.Billing = &Address{Street: `Rue "Lepic" 12`, City: "Paris"}
	o.Lines = []Line{{Product: "tea", Quantity: 2, Price: 450}, {Product: "cup", Quantity: int32(i), Price: 1250}}
	o.Notes = map[string]string{"gift": "yes", "door": "left\nof the gate"}
	o.Hash, o.Photo, o.Key = [4]byte{0xca, 0xfe, 0, byte(i)}, []byte{0, 1, 2, 0xff}, eventID(i)
}
