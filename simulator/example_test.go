package simulator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

// A client of DigitalOcean's API meets a simulator on a loopback port, makes a
// load balancer for two droplets, and one of them vanishes.
func Example() {
	sim := simulator.New(simulator.WithToken("example-token", "blue"))
	server := httptest.NewServer(sim)
	defer server.Close()
	first := sim.AddDroplet(simulator.DropletSpec{Name: "web-1"})
	second := sim.AddDroplet(simulator.DropletSpec{Name: "web-2"})

	ctx := context.Background()
	client := godo.NewFromToken("example-token")
	if err := godo.SetBaseURL(server.URL + "/")(client); err != nil {
		fmt.Println(err)
		return
	}
	made, _, err := client.LoadBalancers.Create(ctx, &godo.LoadBalancerRequest{
		Name: "web", Region: "nyc3", DropletIDs: []int{first.ID, second.ID},
		ForwardingRules: []godo.ForwardingRule{
			{EntryProtocol: "http", EntryPort: 80, TargetProtocol: "http", TargetPort: 8080},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Name, "is", made.Status)

	if err := sim.DeleteDroplet(first.ID); err != nil {
		fmt.Println(err)
		return
	}
	read, _, err := client.LoadBalancers.Get(ctx, made.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.Name, "is", read.Status, "at", read.IP, "with", len(read.DropletIDs), "droplet")
	fmt.Println(len(sim.Requests()), "requests")
	// Output:
	// web is new
	// web is active at 192.0.2.2 with 1 droplet
	// 2 requests
}

// A creation whose answer is lost although it took effect: what a client has to
// survive without making a second load balancer.
func ExampleSimulator_AddFault() {
	sim := simulator.New()
	sim.AddFault(simulator.Fault{
		Method: "POST", Path: "/v2/load_balancers", Count: 1,
		AfterActing: true, Status: 504, Body: "gateway timeout",
	})
	server := httptest.NewServer(sim)
	defer server.Close()

	client, err := godo.New(server.Client(), godo.SetBaseURL(server.URL+"/"),
		godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer any"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &godo.LoadBalancerRequest{
		Name: "web", Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{
			{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 8080},
		},
	}
	_, resp, _ := client.LoadBalancers.Create(context.Background(), req)
	fmt.Println(resp.StatusCode)
	found, _, err := client.LoadBalancers.ListByNames(context.Background(), []string{"web"}, nil)
	fmt.Println(len(found), err)
	// Output:
	// 504
	// 1 <nil>
}

// In memory there is no server and no port: a client gets the simulator as its
// transport.
func ExampleSimulator_Transport() {
	sim := simulator.New()
	sim.AddDroplet(simulator.DropletSpec{Name: "web-1"})
	client, err := godo.New(&http.Client{Transport: sim.Transport()}, godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer any"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	droplets, _, err := client.Droplets.List(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(droplets[0].Name, "is", droplets[0].Status)
	// Output:
	// web-1 is active
}

// Without a clock and without waiting, a test sees every stage.
func ExampleWithActivationReads() {
	sim := simulator.New(simulator.WithActivationReads(2))
	client, err := godo.New(&http.Client{Transport: sim.Transport()}, godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer any"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	lb, _, err := client.LoadBalancers.Create(context.Background(), &godo.LoadBalancerRequest{
		Name: "web", Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
	})
	for range 3 {
		if err != nil {
			fmt.Println(err)
			return
		}
		lb, _, err = client.LoadBalancers.Get(context.Background(), lb.ID)
		fmt.Println(lb.Status)
	}
	// Output:
	// new
	// new
	// active
}
