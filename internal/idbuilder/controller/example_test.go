// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
)

func Example() {
	c, err := controller.New(storetest.Documents(), controller.Options{Authorize: func(r *http.Request) error {
		if r.Header.Get("Authorization") != "Bearer admin-token" {
			return api.Errorf(api.Authentication, "Authorization: the admin token is expected")
		}
		return nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(c.Handler())
	defer server.Close()

	client, err := controller.NewClient(controller.ClientOptions{
		Endpoints: []string{server.URL}, Token: "admin-token", Address: "http://worker-7:8080",
		Load: func() controller.Load {
			return controller.Load{Ready: true}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- client.Run(ctx) }()
	for !client.State().Registered {
		time.Sleep(time.Millisecond)
	}

	balance, err := c.Balance(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("registered:", client.State().Registered)
	fmt.Println("send requests to", balance.Targets[0].Address)
	stop()
	fmt.Println("the worker ends:", <-done)
	// Output:
	// registered: true
	// send requests to http://worker-7:8080
	// the worker ends: context canceled
}
