package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/admission"
	"digitalocean-cloud-controller-manager/internal/admission/servingcert"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/debugserver"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/region"
	"digitalocean-cloud-controller-manager/internal/version"
)

const (
	kubeQPS   = 20
	kubeBurst = 40
)

// run serves until the context ends.
func run(ctx context.Context, o options) error {
	settings, err := readSettings(o.cloudConfig)
	own, ownErr := admission.FromEnvironment(os.LookupEnv)
	if err := errors.Join(err, ownErr); err != nil {
		return fmt.Errorf("invalid settings:\n%w", err)
	}
	for _, note := range settings.Notes {
		klog.FromContext(ctx).Info("Setting could be used after a correction", "setting", note)
	}
	kube, err := newKube(o.kubeconfig)
	if err != nil {
		return err
	}
	// What works for requests goes on until the last one is answered.
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	certificates, err := newCertificates(background, own, kube)
	if err != nil {
		return err
	}
	judge, synced, err := newJudge(background, settings, kube)
	if err != nil {
		return err
	}
	server := &admission.Server{
		Address: own.Address,
		Webhook: &admission.Handler{
			Judge: judge, Metrics: admission.NewMetrics(legacyregistry.MustRegister), Clock: clock.RealClock{},
		},
		Certificates: certificates, Ready: synced, ShutdownDelay: own.ShutdownDelay, Clock: clock.RealClock{},
	}
	if err := serveDebug(background, settings, server); err != nil {
		return err
	}
	return server.Run(ctx)
}

// readSettings reads the manager's settings, so that a Service is judged by the
// same defaults.
func readSettings(path string) (*config.Config, error) {
	if path == "" {
		return config.FromEnvironment(os.LookupEnv)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--cloud-config: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return config.Read(os.LookupEnv, file)
}

func newKube(kubeconfig string) (kubernetes.Interface, error) {
	restConfig, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the Kubernetes API: %w", err)
	}
	restConfig.QPS, restConfig.Burst = kubeQPS, kubeBurst
	restConfig.UserAgent = admission.DefaultName + "/" + version.Version()
	restConfig.ContentType = "application/vnd.kubernetes.protobuf"
	restConfig.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	kube, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("reach the Kubernetes API: %w", err)
	}
	return kube, nil
}

func newCertificates(ctx context.Context, own admission.Settings, kube kubernetes.Interface) (admission.Certificates, error) {
	if !own.OwnCertificates {
		files, err := servingcert.NewFiles(own.CertDirectory, clock.RealClock{})
		if err != nil {
			return nil, err
		}
		go files.Run(ctx)
		return files, nil
	}
	name := own.Service + "." + own.Namespace
	keeper := servingcert.NewKeeper(servingcert.Options{
		Kube: kube, Namespace: own.Namespace, Secret: own.Secret, Configuration: own.Configuration,
		Names:    append([]string{name + ".svc", name, name + ".svc.cluster.local"}, own.CertNames...),
		Lifetime: own.CertLifetime, Clock: clock.RealClock{},
	})
	go keeper.Run(ctx)
	return keeper, nil
}

var errNotSynced = errors.New("the cluster's Services and namespaces are not read yet")

// newJudge makes the judge and a check that it knows all Services.
func newJudge(ctx context.Context, settings *config.Config, kube kubernetes.Interface) (*admission.Judge, debugserver.Check, error) {
	client, err := newClient(settings.API)
	if err != nil {
		return nil, nil, err
	}
	cluster := loadbalancer.Cluster{
		ID: settings.ClusterID, Region: settings.Region, VPC: settings.VPCID, HealthCheck: settings.HealthCheck, Names: settings.NameTemplate,
	}
	if cluster.Region == "" {
		if cluster.Region, err = region.FromMetadata(ctx, settings.MetadataURL); err != nil {
			return nil, nil, fmt.Errorf("%s is not set, and the droplet's metadata service can't be asked for the region: %w", config.EnvRegion, err)
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithTransform(forget))
	services := factory.Core().V1().Services()
	synced := []cache.InformerSynced{services.Informer().HasSynced}
	o := admission.Options{
		Client: client, Services: services.Lister(), Cluster: cluster, Defaults: settings.Defaults, Limits: settings.Limits, Clock: clock.RealClock{},
	}
	if settings.Limits.NeedNamespaces() {
		namespaces := factory.Core().V1().Namespaces()
		o.Namespaces = namespaces.Lister()
		synced = append(synced, namespaces.Informer().HasSynced)
	}
	factory.StartWithContext(ctx)
	return admission.NewJudge(o), func(context.Context) error {
		for _, done := range synced {
			if !done() {
				return errNotSynced
			}
		}
		return nil
	}, nil
}

// forget drops what nobody asks of other objects.
func forget(object any) (any, error) {
	if accessor, ok := object.(metav1.Object); ok { // else a tombstone
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

var _ cache.TransformFunc = forget

func newClient(api config.API) (*doapi.Client, error) {
	source := doapi.StaticToken(api.Token)
	if api.TokenFile != "" {
		source = doapi.FileToken(api.TokenFile)
	}
	metrics := doapi.NewMetrics()
	if err := metrics.Register(legacyregistry.Register); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return doapi.New(doapi.Options{
		TokenSource: source, BaseURL: api.URL, Version: version.Version(), QPS: api.RateLimitQPS, Metrics: metrics, Timeout: apiAttempt,
	})
}

// apiAttempt bounds one attempt, so that there is time for another.
const apiAttempt = 2 * time.Second

// serveDebug starts the plain listeners that are configured.
func serveDebug(ctx context.Context, settings *config.Config, server *admission.Server) error {
	if address := settings.MetricsAddress; address != "" {
		mux := http.NewServeMux()
		mux.Handle("/metrics", legacyregistry.Handler())
		if _, err := debugserver.Serve(ctx, "metrics", address, mux); err != nil {
			return fmt.Errorf("%s: %w", config.EnvMetricsAddr, err)
		}
	}
	if address := settings.DebugAddress; address != "" {
		mux := http.NewServeMux()
		mux.Handle("/healthz", debugserver.Handler(func(context.Context) error { return nil }))
		mux.Handle("/readyz", debugserver.Handler(server.ReadyCheck))
		if _, err := debugserver.Serve(ctx, "debug", address, mux); err != nil {
			return fmt.Errorf("%s: %w", config.EnvDebugAddr, err)
		}
	}
	return nil
}
