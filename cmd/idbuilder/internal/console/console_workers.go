// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"time"
)

// workersPage lists the live workers.
type workersPage struct {
	Controlled bool // there is a controller
	Workers    []WorkerInfo
	Now        time.Time
	Fault      string
}

func (c *Console) showWorkers(v *visit) error {
	p := workersPage{Controlled: c.options.Workers != nil, Now: c.options.Now()}
	if p.Controlled {
		list, err := c.options.Workers(v.Context())
		if err != nil {
			c.options.Logger.Warn("console: the controller does not answer", "error", err)
			p.Fault = "The controller does not answer now. Workers go on for as long as their leases last."
		}
		p.Workers = list
	}
	return v.render(http.StatusOK, page{Name: "workers", Title: "Workers", Section: "workers", Data: p})
}
