package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watchCluster sends what there is to tell of Nodes, Services and warnings,
// until the context ends. stop waits until it has.
func watchCluster(ctx context.Context, client kubernetes.Interface) (sights <-chan sight, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan sight)
	send := func(s sight) {
		select {
		case out <- s:
		case <-ctx.Done():
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	for _, informer := range []cache.SharedIndexInformer{
		core.Nodes().Informer(), core.Services().Informer(), core.Events().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler(send)); err != nil {
			cancel()
			return nil, nil, fmt.Errorf("watch the cluster: %w", err)
		}
	}
	factory.StartWithContext(ctx)
	return out, func() { cancel(); factory.Shutdown() }, nil
}

func handler(send func(sight)) cache.ResourceEventHandler {
	seen := func(object any) {
		if s, ok := see(object); ok {
			send(s)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, object any) { seen(object) },
		DeleteFunc: func(object any) {
			if s, ok := seeDeleted(object); ok {
				send(s)
			}
		},
	}
}

func see(object any) (sight, bool) {
	switch o := object.(type) {
	case *corev1.Node:
		return seeNode(o), true
	case *corev1.Service:
		return seeService(o)
	case *corev1.Event:
		return seeEvent(o)
	}
	return sight{}, false
}

func seeDeleted(object any) (sight, bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	s, ok := see(object)
	if s.warning { // events expire
		return sight{}, false
	}
	s.text, s.done = "deleted", false
	return s, ok
}
